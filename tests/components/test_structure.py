"""What components need of libraries."""

from __future__ import annotations

import subprocess
import sys


def test_only_the_command_line_of_forges_needs_their_libraries() -> None:
    """C13: the function never imports them, nor does a command before a repository on such a forge is named."""
    program = (
        "import sys, krm_merge.cli.commands.components, krm_merge.functions.plan_component_updates\n"
        "print(*sorted({'github', 'gitlab', 'requests', 'urllib3'} & sys.modules.keys()))"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert done.stdout == "\n"
