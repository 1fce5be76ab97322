package io.pipelane.switcher.schedule.turn;

import io.pipelane.config.StatusException;
import io.pipelane.lanes.execution.StopWord;

/** What a worker heeds of a stop word: what it allows, at once. */
final class HeededWord implements StopWord {
  volatile double allowed = 1;

  @Override
  public boolean stops() {
    return true;
  }

  @Override
  public void expect(long fromNanos, long untilNanos) {}

  @Override
  public void end(StatusException reason) {}

  @Override
  public void allow(double share) {
    allowed = share;
  }

  @Override
  public boolean stands() {
    return allowed <= 0;
  }
}
