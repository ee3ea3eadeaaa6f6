"""What a campaign is about: its upstream, its targets, and how it is configured."""
