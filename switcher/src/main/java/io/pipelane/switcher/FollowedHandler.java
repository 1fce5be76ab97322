package io.pipelane.switcher;

import io.pipelane.config.StatusException;

/**
 * A handler that runs something once another handler has been told the end, see {@link
 * ResultHandler#andThen}.
 */
record FollowedHandler(ResultHandler handler, Runnable whenTold) implements ForwardingHandler {
  @Override
  public void completed(InferenceTimings timings) {
    try {
      handler.completed(timings);
    } finally {
      whenTold.run();
    }
  }

  @Override
  public void failed(StatusException error) {
    try {
      handler.failed(error);
    } finally {
      whenTold.run();
    }
  }
}
