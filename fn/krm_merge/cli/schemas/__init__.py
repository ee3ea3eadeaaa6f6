"""JSON schemas of the kinds that people write and programs read: for editors and validators."""
