"""The forms of a comparison: HTML, Markdown, SARIF, the terminal."""
