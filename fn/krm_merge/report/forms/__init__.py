"""The forms of a report: HTML, Markdown, SARIF, the terminal."""
