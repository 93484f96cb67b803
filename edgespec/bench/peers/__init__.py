"""Other engines in the same run: found or explained, driven the way their users drive them.

Each is a process of its own that sleeps while another engine is measured. Nothing here is needed
to use edgespec, and nothing is fetched or installed.
"""
