"""Strategic merge patches: apply, create, find conflicts."""
