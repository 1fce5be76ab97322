package io.pipelane.switcher;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.switcher.kept.Keeper;
import java.util.Optional;

/**
 * The place of a request's run, and what of it stays there: what the server itself asks for, and no
 * caller.
 *
 * @param device where it is to run, by name; another one answers where that is lost or does not
 *     know the model, and the one that is predicted to be first where none is named; but none where
 *     inputs lie on it
 * @param lane where it is to run, alone, in a session that stands ready there, which is no use of
 *     it; refused as unavailable where either cannot be had at once. Any lane where none is named
 * @param stateNumber what the run writes behind its outputs, where they become a state on the
 *     device
 * @param keeper who takes outputs over that stay on the device
 */
public record RunPlace(
    Optional<String> device,
    Optional<EphemeralRegion> lane,
    Optional<StateNumber> stateNumber,
    Optional<Keeper> keeper) {
  /** Wherever it is done first, and nothing stays. */
  public static final RunPlace ANY =
      new RunPlace(Optional.empty(), Optional.empty(), Optional.empty(), Optional.empty());

  /** The same on a device; on any where none is named. */
  public RunPlace on(Optional<String> name) {
    return new RunPlace(name, lane, stateNumber, keeper);
  }

  /** The same in a lane where a session stands ready, and in no other. */
  public RunPlace in(EphemeralRegion only) {
    return new RunPlace(device, Optional.of(only), stateNumber, keeper);
  }

  /** The same, where outputs become a state. */
  public RunPlace numbering(Optional<StateNumber> number) {
    return new RunPlace(device, lane, number, keeper);
  }

  /** The same, where somebody takes outputs over. */
  public RunPlace keeping(Optional<Keeper> taker) {
    return new RunPlace(device, lane, stateNumber, taker);
  }
}
