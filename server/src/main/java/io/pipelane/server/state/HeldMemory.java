package io.pipelane.server.state;

import io.pipelane.lanes.cuda.CudaDevice;
import io.pipelane.modelstore.ModelVersion;
import io.pipelane.switcher.memory.account.Ledger;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalInt;
import java.util.TreeMap;

/**
 * The memory that devices hold of models' weights at one moment, place by place, as the statistics
 * extension tells it. Copies that the host keeps are not in it. Pages that several models hold
 * together count for each of them.
 */
public final class HeldMemory {
  private static final Place HOST = new Place("CPU", 0);
  private static final Place PINNED = new Place("CPU_PINNED", 0);

  /** Of each version, by its editions. */
  private final Map<ModelVersion, Map<ModelVersion, Map<Place, Long>>> models = new HashMap<>();

  private HeldMemory() {}

  /**
   * Some memory of the machine.
   *
   * @param type CPU, CPU_PINNED or GPU
   * @param id which of the type
   */
  public record Place(String type, int id) {
    private static final Comparator<Place> ORDER =
        Comparator.comparing(Place::type).thenComparingInt(Place::id);

    /** Where a device of a name, such as {@code cuda:0 NVIDIA H200}, has its pages. */
    static Place ofDevice(String name) {
      OptionalInt gpu = CudaDevice.ordinal(name);
      return gpu.isPresent() ? new Place("GPU", gpu.getAsInt()) : HOST;
    }
  }

  /** A part of a model's weights, which is not empty. */
  public record Part(Place place, long bytes) {}

  /** What devices' ledgers have, by the devices' names. */
  static HeldMemory in(Map<String, Ledger> ledgers) {
    HeldMemory held = new HeldMemory();
    ledgers.forEach(
        (device, ledger) -> {
          Place place = Place.ofDevice(device);
          for (Ledger.Entry entry : ledger.entries()) {
            held.add(entry, place);
          }
        });
    return held;
  }

  /** What a GPU reads in place lies in pinned memory once, however many of them read it. */
  private void add(Ledger.Entry entry, Place place) {
    Map<Place, Long> places =
        models
            .computeIfAbsent(entry.model().anyEdition(), _ -> new HashMap<>())
            .computeIfAbsent(entry.model(), _ -> new TreeMap<>(Place.ORDER));
    places.merge(place, entry.residentBytes() + entry.copiedBytes(), Long::sum);
    if (!place.equals(HOST)) {
      places.merge(PINNED, entry.inPlaceBytes(), Math::max);
    }
  }

  /** The parts of a version's weights, of all its editions together. */
  public List<Part> of(ModelVersion version) {
    Map<Place, Long> all = new TreeMap<>(Place.ORDER);
    for (Map<Place, Long> places : models.getOrDefault(version.anyEdition(), Map.of()).values()) {
      places.forEach((place, bytes) -> all.merge(place, bytes, Long::sum));
    }
    return all.entrySet().stream()
        .filter(held -> held.getValue() > 0)
        .map(held -> new Part(held.getKey(), held.getValue()))
        .toList();
  }
}
