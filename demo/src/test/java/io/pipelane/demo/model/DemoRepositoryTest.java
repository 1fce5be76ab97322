package io.pipelane.demo.model;

import static org.junit.jupiter.api.Assertions.assertEquals;
import static org.junit.jupiter.api.Assertions.assertFalse;

import java.io.InputStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.util.EnumSet;
import java.util.Set;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class DemoRepositoryTest {
  private static final Set<DemoModel> SMALL = EnumSet.of(DemoModel.PPOCR_CLS);

  @TempDir private Path repository;

  @Test
  void write_twoVersions_areCopiesOfTheArtifactsFile() throws Exception {
    DemoRepository.write(repository, SMALL, 2);

    byte[] original;
    try (InputStream file = DemoModel.PPOCR_CLS.open()) {
      original = file.readAllBytes();
    }
    assertEquals(DemoModel.PPOCR_CLS.byteSize(), original.length);
    for (int version = 1; version <= 2; version++) {
      Path file = repository.resolve("ppocr-cls/" + version + "/model.onnx");
      assertEquals(file, DemoRepository.file(repository, DemoModel.PPOCR_CLS, version));
      assertEquals(
          -1, Files.mismatch(file, DemoRepository.file(repository, DemoModel.PPOCR_CLS, 1)));
      assertEquals(original.length, Files.size(file));
    }
    try (Stream<Path> files = Files.walk(repository)) {
      assertFalse(files.anyMatch(file -> file.toString().endsWith(".part")));
    }
  }

  @Test
  void write_again_keepsWhatIsIntactAndReplacesTheRest() throws Exception {
    DemoRepository.write(repository, SMALL, 2);
    Path kept = DemoRepository.file(repository, DemoModel.PPOCR_CLS, 1);
    Path damaged = DemoRepository.file(repository, DemoModel.PPOCR_CLS, 2);
    Files.setLastModifiedTime(kept, FileTime.fromMillis(1_000));
    byte[] bytes = Files.readAllBytes(damaged);
    bytes[bytes.length / 2] ^= 1;
    Files.write(damaged, bytes);

    DemoRepository.write(repository, SMALL, 2);

    assertEquals(FileTime.fromMillis(1_000), Files.getLastModifiedTime(kept));
    assertEquals(-1, Files.mismatch(kept, damaged));
  }
}
