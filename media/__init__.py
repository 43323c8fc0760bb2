"""Signal code on numpy and PyAV. No asyncio, no clock, no call: everything here is a function of its input."""
