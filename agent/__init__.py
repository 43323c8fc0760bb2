"""The conversation: clock, timeline, floor, playout, heard ledger, call, frontends, record and replay."""
