package io.pipelane.server.device;

import io.pipelane.switcher.grouping.PipelineCosts;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;

/**
 * The sharing of links: which devices' weights come in over which others' links too, and what
 * transfers cost then.
 */
final class LinkSharing {
  /** By the borrowing devices' names. */
  private final Map<String, List<ServingDevice>> lenders = new HashMap<>();

  private LinkSharing() {}

  /**
   * Lets every device borrow from all others that it reaches.
   *
   * @param wanted false for none
   */
  static LinkSharing of(boolean wanted, List<ServingDevice> devices) {
    LinkSharing sharing = new LinkSharing();
    for (ServingDevice device : devices) {
      List<ServingDevice> reached = new ArrayList<>();
      for (ServingDevice other : devices) {
        if (wanted && device.device().borrowLink(other.device())) {
          reached.add(other);
        }
      }
      sharing.lenders.put(device.device().name(), reached);
    }
    return sharing;
  }

  /** One line for people, where links are shared. */
  Optional<String> announcement() {
    int most = lenders.values().stream().mapToInt(List::size).max().orElse(0);
    return most == 0
        ? Optional.empty()
        : Optional.of(
            "weights for one device come in over up to %d links at once".formatted(most + 1));
  }

  /**
   * What transfers to a device cost while all lenders are idle; unknown where its link was not
   * measured. A lender that was not counts as none.
   *
   * @param measured what transfers over each link alone cost, by the devices' names
   */
  Optional<PipelineCosts> costs(ServingDevice device, Map<String, PipelineCosts> measured) {
    List<PipelineCosts> others = new ArrayList<>();
    for (ServingDevice lender : lenders.getOrDefault(device.device().name(), List.of())) {
      costsAlone(lender, measured).ifPresent(others::add);
    }
    Optional<PipelineCosts> alone = costsAlone(device, measured);
    return others.isEmpty()
        ? alone
        : alone.map(costs -> costs.beside(others, device.device().copies().aloneBytes()));
  }

  private static Optional<PipelineCosts> costsAlone(
      ServingDevice device, Map<String, PipelineCosts> measured) {
    return Optional.ofNullable(measured.get(device.device().name()));
  }
}
