"""The `venus` command. Importing everything takes the better part of a second, in which Ctrl-C is no reason for a traceback."""


def main() -> None:
    """Run the command line."""
    try:
        from agent.app.cli import main as run
    except KeyboardInterrupt:
        raise SystemExit(130) from None
    run()
