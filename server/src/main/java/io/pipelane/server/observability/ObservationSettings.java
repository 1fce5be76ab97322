package io.pipelane.server.observability;

/** The settings, to be changed while the server runs, of how closely it is watched. */
public record ObservationSettings(TraceSettings tracing, LogSettings logging) {}
