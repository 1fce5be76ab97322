package io.pipelane.lanes.process.channel;

import java.util.Optional;

/**
 * The number of a state, see {@link io.pipelane.lanes.execution.StateNumber}.
 *
 * @param offset where the server's transfer memory and, behind it, its states have it
 */
public record PlacedNumber(long offset, int number) {
  static void write(MessageWriter message, Optional<PlacedNumber> placed) {
    message.number(placed.isPresent() ? 1 : 0);
    placed.ifPresent(state -> message.number(state.offset).number(state.number));
  }

  static Optional<PlacedNumber> read(MessageReader message) {
    return message.count(1) == 1
        ? Optional.of(new PlacedNumber(message.size(), message.integer()))
        : Optional.empty();
  }
}
