"""Strategic merge patches: apply, create, combine."""
