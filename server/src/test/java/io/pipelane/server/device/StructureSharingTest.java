package io.pipelane.server.device;

import static org.junit.jupiter.api.Assertions.assertEquals;

import io.pipelane.config.section.SwitchingConfig.ShareStructures;
import io.pipelane.config.value.ByteSize;
import io.pipelane.lanes.Device;
import io.pipelane.lanes.TestDevices;
import io.pipelane.lanes.execution.DeviceMemory;
import io.pipelane.lanes.execution.SessionFactory;
import io.pipelane.lanes.execution.TestImports;
import io.pipelane.modelstore.ImportedModel;
import io.pipelane.modelstore.host.HostTier;
import io.pipelane.modelstore.repository.ModelOptions;
import io.pipelane.runtime.TestModels;
import io.pipelane.switcher.Switcher;
import io.pipelane.switcher.SwitcherSettings;
import io.pipelane.switcher.grouping.EqualBytesGrouping;
import java.io.IOException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Variants of one structure, with working memory of which four may take half. */
class StructureSharingTest {
  private static final int VARIANTS = 6;
  private static final int HAVE_THEIR_OWN = 4;

  private static final long WEIGHT_BYTES = 16 << 20;

  /** What each session is taken to need, in one lane. */
  private static final long USUAL_BYTES = 32 << 20;

  /** One more than compute at once, to run in while a run has given way at a gate. */
  private static final int LANES = 2;

  @TempDir private Path folder;
  private final Device device = TestDevices.open(WEIGHT_BYTES, 16 << 10);
  private final DeviceMemory memory = new DeviceMemory(device.persistent());
  private final SessionFactory sessions = TestDevices.sessions(device, memory);
  private final HostTier weights = HostTier.mapping(ByteSize.ofMebibytes(16));
  private final Switcher switcher =
      new Switcher(
          device,
          memory,
          sessions,
          SwitcherSettings.of(
              WEIGHT_BYTES,
              2 * HAVE_THEIR_OWN * bytesOfAModel(),
              1,
              100,
              1 << 20,
              new EqualBytesGrouping(8, 1)),
          weights);

  private long bytesOfAModel() {
    return USUAL_BYTES * sessions.processes() * (sessions.boundToLane() ? LANES : 1);
  }

  @AfterEach
  void close() {
    switcher.close();
    weights.close();
    device.close();
  }

  /**
   * Has all variants come, and says which structure each has: of alike ones, the first's number.
   */
  private List<Integer> structures(StructureSharing sharing) throws IOException {
    List<String> hashes = new ArrayList<>();
    for (int i = 0; i < VARIANTS; i++) {
      ImportedModel model = TestImports.of(TestModels.chain(2, 64, i), "m" + i, folder);
      ImportedModel begun = sharing.begun(model, List.of(switcher));
      switcher.announce(begun, ModelOptions.DEFAULT);
      sharing.ended(begun);
      hashes.add(begun.plan().structureHash());
    }
    return hashes.stream().map(hashes::indexOf).toList();
  }

  private static List<Integer> allOfTheFirst() {
    return Collections.nCopies(VARIANTS, 0);
  }

  @Test
  void auto_turnsAreDear_variantsHaveTheirOwnAsLongAsHalfOfTheMemoryIsLeft() throws Exception {
    assertEquals(
        List.of(0, 1, 2, 3, 0, 0), structures(new StructureSharing(ShareStructures.AUTO, true)));
  }

  @Test
  void auto_turnsAreCheap_allShare() throws Exception {
    assertEquals(allOfTheFirst(), structures(new StructureSharing(ShareStructures.AUTO, false)));
  }

  @Test
  void always_allShare() throws Exception {
    assertEquals(allOfTheFirst(), structures(new StructureSharing(ShareStructures.ALWAYS, true)));
  }

  @Test
  void never_noneShares() throws Exception {
    assertEquals(
        List.of(0, 1, 2, 3, 4, 5), structures(new StructureSharing(ShareStructures.NEVER, false)));
  }

  @Test
  void auto_modelLeaves_theNextHasItsOwnAgain() throws Exception {
    StructureSharing sharing = new StructureSharing(ShareStructures.AUTO, true);
    assertEquals(0, structures(sharing).getLast());
    switcher.deregister(TestImports.of(TestModels.chain(2, 64, 1), "m1", folder).version());
    ImportedModel next = TestImports.of(TestModels.chain(2, 64, 9), "m9", folder);
    ImportedModel begun = sharing.begun(next, List.of(switcher));
    assertEquals(next.unshared().plan().structureHash(), begun.plan().structureHash());
  }

  /** Copies of one file are imported at once, and come at once. */
  @Test
  void auto_variantsAreRegisteredAtTheSameTime_oneIsTheFirst() throws Exception {
    StructureSharing sharing = new StructureSharing(ShareStructures.AUTO, true);
    List<String> hashes = new ArrayList<>();
    for (int i = 0; i < VARIANTS; i++) {
      ImportedModel model = TestImports.of(TestModels.chain(2, 64, i), "m" + i, folder);
      hashes.add(sharing.begun(model, List.of(switcher)).plan().structureHash());
    }
    assertEquals(List.of(0, 1, 2, 3, 0, 0), hashes.stream().map(hashes::indexOf).toList());
  }
}
