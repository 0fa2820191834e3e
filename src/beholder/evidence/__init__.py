"""Artifact -> evidence: what a person would see, as pictures and texts that a judge takes unchanged.

`engine` conducts; `select` decides what is looked at, `share` and `allot` how much of it; one module a kind
(`html`, `svg`, `image`, `pdf`, `office`, `video`, `text`). Pages are drawn by a browser behind fences
(`pages`, `browser`, `cdp`, `page`, `serve`, `egress`), everything else is decoded in fenced processes
(`workers`, `decode`). `layout` and `pictures` fit what was drawn to the judge; `manifest` writes it down.

Nothing is loaded here: a process that decodes has no use for the browser's side, nor the other way round.
"""
