package io.pipelane.config;

/**
 * The kind of outcome that an operation had; the one vocabulary that every module reports errors
 * in.
 *
 * <p>The server maps it to HTTP in one place, and to gRPC in one.
 */
public enum Status {
  /** The caller sent something malformed or contradictory; sending it again cannot help. */
  INVALID_ARGUMENT,
  /** The caller has not shown who it is, where that is needed. */
  UNAUTHENTICATED,
  /** The caller may not do that. */
  PERMISSION_DENIED,
  /** The caller asks more often than it may; less often, it is answered. */
  RATE_LIMITED,
  /** The named model, version or route does not exist or is out of service. */
  NOT_FOUND,
  /** The caller sent more than a stated limit allows. */
  TOO_LARGE,
  /**
   * The server cannot answer now (queue full, importing, draining); trying again later can help.
   */
  UNAVAILABLE,
  /** The work can never fit the memory that the server was given. */
  INSUFFICIENT_MEMORY,
  /** A limit of time passed before the request was answered. */
  DEADLINE_EXCEEDED,
  /** The caller went away or withdrew the request. */
  CANCELLED,
  /** The protocol allows it, this server does not do it. */
  UNIMPLEMENTED,
  /** The device, or a library on it, failed; what was asked of it is not to blame. */
  DEVICE_FAILURE,
  /** A fault of the server or of a library below it. */
  INTERNAL
}
