package io.pipelane.server.jobs;

import java.io.IOException;
import java.nio.file.Path;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Tests of jobs in a folder of their own, where there is an input file. */
@Timeout(value = 60, threadMode = Timeout.ThreadMode.SEPARATE_THREAD)
abstract class JobsInAFolder {
  @TempDir Path folder;
  JobsFixture fixture = new JobsFixture(Path.of(""));

  @BeforeEach
  void writeInput() throws IOException {
    fixture = new JobsFixture(folder);
    fixture.writeInput("in.jsonl", JobsFixture.ITEMS);
  }
}
