"""Which models there are, what people call them, and which drafts fit which target."""
