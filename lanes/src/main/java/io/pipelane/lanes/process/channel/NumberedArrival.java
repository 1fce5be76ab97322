package io.pipelane.lanes.process.channel;

import java.util.ArrayList;
import java.util.List;

/**
 * A copy of weights that a worker's device waits for by itself.
 *
 * @param segment the first that needs it
 * @param number what the device's count of arrivals has come to by then; it goes round
 */
public record NumberedArrival(int segment, int number) {
  private static final int MAXIMUM = 1 << 11;

  static void write(MessageWriter message, List<NumberedArrival> arrivals) {
    message.number(arrivals.size());
    for (NumberedArrival arrival : arrivals) {
      message.number(arrival.segment).number(arrival.number);
    }
  }

  static List<NumberedArrival> read(MessageReader message) {
    int count = message.count(MAXIMUM);
    List<NumberedArrival> arrivals = new ArrayList<>(count);
    for (int i = 0; i < count; i++) {
      arrivals.add(new NumberedArrival(message.count(Integer.MAX_VALUE), message.integer()));
    }
    return arrivals;
  }
}
