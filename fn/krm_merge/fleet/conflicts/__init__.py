"""Equal conflicts of many packages: shown once, and settled once for all of them."""
