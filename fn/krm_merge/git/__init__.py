"""Git repositories through the program git: run it, read objects, make commits, talk to other repositories.

Enter through the modules: `program` runs git, `objects` reads what a repository holds, `store` makes trees and commits
in a bare one, `remote` fetches from and pushes to another one, `credentials` is what git identifies itself with.
"""
