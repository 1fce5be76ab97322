package io.pipelane.switcher;

import io.pipelane.lanes.EphemeralRegion;
import io.pipelane.lanes.execution.StateNumber;
import io.pipelane.switcher.kept.Keeper;
import java.util.Optional;
import java.util.function.LongSupplier;

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
 * @param stateBytes what the states that it reads hold of working memory at any time of it, with
 *     their other copies; asked by whoever makes the run
 * @param offlineStateBytes what of that is charged to what offline work may hold, and cannot leave
 *     for the run; a batch may be run as its parts, and says nothing
 * @param keeper who takes outputs over that stay on the device
 */
public record RunPlace(
    Optional<String> device,
    Optional<EphemeralRegion> lane,
    Optional<StateNumber> stateNumber,
    LongSupplier stateBytes,
    LongSupplier offlineStateBytes,
    Optional<Keeper> keeper) {
  /** Wherever it is done first, and nothing stays. */
  public static final RunPlace ANY =
      new RunPlace(
          Optional.empty(), Optional.empty(), Optional.empty(), () -> 0, () -> 0, Optional.empty());

  /** The same on a device; on any where none is named. */
  public RunPlace on(Optional<String> name) {
    return new RunPlace(name, lane, stateNumber, stateBytes, offlineStateBytes, keeper);
  }

  /** The same in a lane where a session stands ready, and in no other. */
  public RunPlace in(EphemeralRegion only) {
    return new RunPlace(
        device, Optional.of(only), stateNumber, stateBytes, offlineStateBytes, keeper);
  }

  /** The same, where outputs become a state. */
  public RunPlace numbering(Optional<StateNumber> number) {
    return new RunPlace(device, lane, number, stateBytes, offlineStateBytes, keeper);
  }

  /** The same, where inputs are states. */
  public RunPlace holding(LongSupplier bytes) {
    return new RunPlace(device, lane, stateNumber, bytes, offlineStateBytes, keeper);
  }

  /** The same, where inputs are a state that offline work is charged for. */
  public RunPlace holdingOffline(LongSupplier bytes) {
    return new RunPlace(device, lane, stateNumber, stateBytes, bytes, keeper);
  }

  /** The same, where somebody takes outputs over. */
  public RunPlace keeping(Optional<Keeper> taker) {
    return new RunPlace(device, lane, stateNumber, stateBytes, offlineStateBytes, taker);
  }
}
