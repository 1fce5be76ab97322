package io.pipelane.server.state;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.modelstore.ModelVersion;
import io.pipelane.server.state.HeldMemory.Part;
import io.pipelane.server.state.HeldMemory.Place;
import io.pipelane.switcher.memory.account.Ledger;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.junit.jupiter.api.Test;

class HeldMemoryTest {
  private static final ModelVersion OCR = new ModelVersion("ocr", 2);

  private static final Place HOST = new Place("CPU", 0);
  private static final Place PINNED = new Place("CPU_PINNED", 0);

  private static Ledger.Entry entry(ModelVersion model, long inPlace, long resident) {
    return new Ledger.Entry(model, 100, inPlace, resident, false, 0, List.of(100L));
  }

  private static HeldMemory held(Map<String, List<Ledger.Entry>> entries) {
    Map<String, Ledger> ledgers = new LinkedHashMap<>();
    entries.forEach((name, of) -> ledgers.put(name, new Ledger(1000, 10, 0, of)));
    return HeldMemory.in(ledgers);
  }

  @Test
  void processor_isOnePlace_howeverManyDevicesItServesAs() {
    HeldMemory held =
        held(
            Map.of(
                "cpu:0", List.of(entry(OCR, 7, 40)),
                "cpu:1", List.of(entry(OCR, 7, 60))));
    assertEquals(List.of(new Part(HOST, 100)), held.of(OCR));
  }

  @Test
  void gpus_arePlacesOfTheirOwn_andWhatTheyReadInPlaceIsPinnedOnce() {
    HeldMemory held =
        held(
            Map.of(
                "cuda:0 NVIDIA H200", List.of(entry(OCR, 7, 40)),
                "cuda:2", List.of(entry(OCR, 7, 60))));
    assertEquals(
        List.of(
            new Part(PINNED, 7),
            new Part(new Place("GPU", 0), 40),
            new Part(new Place("GPU", 2), 60)),
        held.of(OCR));
  }

  @Test
  void editions_ofAVersion_countTogether() {
    HeldMemory held =
        held(Map.of("cpu", List.of(entry(OCR, 0, 40), entry(OCR.nextEdition(), 0, 50))));
    assertEquals(List.of(new Part(HOST, 90)), held.of(OCR));
  }

  /** Each edition has tables of its own, which all GPUs read at one place. */
  @Test
  void editionsOnGpus_pinWhatTheyReadInPlaceOnceEach() {
    List<Ledger.Entry> entries = List.of(entry(OCR, 7, 0), entry(OCR.nextEdition(), 8, 0));
    HeldMemory held = held(Map.of("cuda:0 NVIDIA H200", entries, "cuda:1", entries));
    assertEquals(List.of(new Part(PINNED, 15)), held.of(OCR));
  }

  @Test
  void copyOfATable_isOnTheDeviceBesideTheWeights() {
    Ledger.Entry hot = new Ledger.Entry(OCR, 100, 7, 40, 10, false, 0, List.of(100L), false);
    HeldMemory held = held(Map.of("cuda:0", List.of(hot)));
    assertEquals(List.of(new Part(PINNED, 7), new Part(new Place("GPU", 0), 50)), held.of(OCR));
  }

  @Test
  void modelThatHoldsNothing_hasNoParts() {
    HeldMemory held = held(Map.of("cpu", List.of(entry(OCR, 5, 0))));
    assertEquals(List.of(), held.of(OCR));
    assertEquals(List.of(), held.of(new ModelVersion("nobody", 1)));
  }
}
