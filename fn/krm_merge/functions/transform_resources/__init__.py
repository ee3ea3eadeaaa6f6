"""`kind: TransformResources`: runs plugins and settles their conflicts by priorities."""
