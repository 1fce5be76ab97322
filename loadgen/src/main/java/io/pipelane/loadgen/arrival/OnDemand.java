package io.pipelane.loadgen.arrival;

/** A request as soon as a connection is free. */
final class OnDemand implements Arrivals {
  @Override
  public long peek(long now) {
    return now;
  }

  @Override
  public void take() {}
}
