"""The launcher: runs any command-line agent behind thoughtkeep, and changes nothing outside that process."""
