"""What people are shown of an exchange: conversations, differences and summaries as lines of plain text. Pure."""
