"""What all patches share: plain values, the shapes of types, errors."""
