"""Pull requests on forges, and recorded beside a bare repository."""
