"""What this machine is: devices, processor, memory. Readers read; none decides, none raises."""
