"""Forges over HTTP: GitHub by PyGithub, GitLab by python-gitlab, Forgejo and Gitea by a thin client.

All three send through one `transport`, which keeps the token, the pace and the limits, and repeats failed requests.
This needs the extra `forges`, and is not imported before a repository on such a forge is named.

Forgejo has no suitable client library: pyforgejo (2.0.7, the maintained one) needs httpx, pydantic models and
11 MB for the six requests that are needed, and would not send through the transport.
"""
