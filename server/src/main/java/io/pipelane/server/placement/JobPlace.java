package io.pipelane.server.placement;

/**
 * The place of an offline job, and the reason for it.
 *
 * @param device by name
 * @param by what chose it
 * @param predicted the job's throughput there over that of its own alone, as it was predicted then
 * @param moves how often it has changed its device since it began in this server
 */
public record JobPlace(String device, By by, double predicted, long moves) {

  /** The way by which a device is chosen. */
  public enum By {
    /** What gates leave of each device beside its online work. */
    RULE,
    /** What a perceptron has learnt that jobs like it reach beside such online work. */
    PREDICTOR
  }
}
