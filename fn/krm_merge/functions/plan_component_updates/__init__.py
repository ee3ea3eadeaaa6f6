"""`kind: PlanComponentUpdates`: plans the updates of components that depend on each other."""
