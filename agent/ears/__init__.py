"""What every call hears with, whatever its frontend: recogniser, turn end, speaker."""
