package io.pipelane.server.observability;

/** What may be set, while the server runs, of how closely it is watched. */
public record ObservationSettings(TraceSettings tracing, LogSettings logging) {}
