"""The options of commands that speak to forges, and what they do with pull requests recorded beside a repository."""
