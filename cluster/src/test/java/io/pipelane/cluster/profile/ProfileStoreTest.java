package io.pipelane.cluster.profile;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertThrows;
import static org.junit.jupiter.api.Assertions.assertTrue;

import io.pipelane.config.StatusException;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Optional;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ProfileStoreTest {
  private static final WorkloadProfile BUSY = new WorkloadProfile(0.9, 0.7, 0.5, 320.25);
  private static final WorkloadProfile CALM = new WorkloadProfile(0.1, 0.05, 0.3, 2);

  @TempDir private Path folder;
  private Path file;

  @BeforeEach
  void setUp() {
    file = folder.resolve("profiles.tsv");
  }

  @Test
  void open_findsWhatWasPut() throws IOException {
    ProfileStore store = ProfileStore.open(file);
    store.put("vgg16", "T4", CALM);
    store.put("vgg16", "T4", BUSY);
    store.put("vgg16", "H200", CALM);

    ProfileStore again = ProfileStore.open(file);

    assertEquals(Optional.of(BUSY), again.find("vgg16", "T4"));
    assertEquals(Optional.of(CALM), again.find("vgg16", "H200"));
    assertTrue(again.find("resnet50", "T4").isEmpty());
  }

  @Test
  void open_aLineThatIsNoProfile_isNamed() throws IOException {
    ProfileStore.open(file).put("vgg16", "T4", BUSY);
    Files.writeString(file, Files.readString(file) + "vgg16\tT4\t2\t0\t0\t1\n");

    StatusException refused = assertThrows(StatusException.class, () -> ProfileStore.open(file));

    assertTrue(String.valueOf(refused.getMessage()).contains("line 2"), refused::toString);
  }

  @Test
  void put_aNameThatWouldBreakTheFile_isRefused() throws IOException {
    ProfileStore store = ProfileStore.open(file);

    assertThrows(IllegalArgumentException.class, () -> store.put("a\tb", "T4", BUSY));
    assertThrows(IllegalArgumentException.class, () -> store.put("a", "", BUSY));
  }
}
