package io.pipelane.bench.preempt;

/** A scene: what a request finds. */
enum Scene {
  READY("ready", false, false),
  COLD("cold", false, true),
  BUSY("busy", true, false),
  BUSY_AND_COLD("busy and cold", true, true);

  private final String label;
  private final boolean busy;
  private final boolean cold;

  Scene(String label, boolean busy, boolean cold) {
    this.label = label;
    this.busy = busy;
    this.cold = cold;
  }

  String label() {
    return label;
  }

  /** Whether a background job runs. */
  boolean isBusy() {
    return busy;
  }

  /** Whether the model's weights are off the device. */
  boolean isCold() {
    return cold;
  }
}
