"""Components whose images contain images of other components: reads, plans and updates them."""
