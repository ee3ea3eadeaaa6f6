"""Git repositories through the program git: run it, read objects, make commits, talk to other repositories.

Enter through the modules: `program` runs git, with credentials and within a working tree; `store` has repositories:
`Store` reads and writes one on this machine, `Remote` fetches from and pushes to another one.
"""
