"""What was merged is published: branches are pushed and pull requests opened, in waves and at a forge's pace."""
