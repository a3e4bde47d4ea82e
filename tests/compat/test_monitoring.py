"""Listeners get the events that libraries record."""

from weft.compat import monitoring


def test_listeners_get_events_of_their_kind_until_they_are_forgotten():
    heard = []
    listeners = {
        kind: (lambda *args, kind=kind, **details: heard.append((kind, *args, details)))
        for kind in ("event", "duration")
    }
    monitoring.register_event_listener(listeners["event"])
    monitoring.register_event_duration_secs_listener(listeners["duration"])
    monitoring.record_event("/a", by="me")
    monitoring.record_event_duration_secs("/b", 1.5)
    monitoring.record_scalar("/c", 3)
    assert heard == [("event", "/a", {"by": "me"}), ("duration", "/b", 1.5, {})]
    monitoring.unregister_event_listener(listeners["event"])
    monitoring.record_event("/a")
    monitoring.clear_event_listeners()
    monitoring.record_event_duration_secs("/b", 1.5)
    assert len(heard) == 2
