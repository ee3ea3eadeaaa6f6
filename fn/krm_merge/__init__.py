"""krm-merge: merges what several people and programs changed in Kubernetes configuration."""

__version__ = "0.1.0"
