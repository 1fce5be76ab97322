package io.pipelane.switcher.memory;

import io.pipelane.modelstore.ImportedModel;
import io.pipelane.switcher.residency.ResidencySettings;
import java.util.List;
import java.util.Random;

/** The same with models that have most of their pages in common. */
class SharedPagesRandomTest extends DaemonRandomTest {
  private static final String[] ALIKE = {"abcd", "efgh", "aaab", "ebgd"};

  @Override
  ResidencySettings residency() {
    return SharedPagesTest.settings(true, false);
  }

  @Override
  void registerSome(List<ImportedModel> models, Random random) {
    for (int i = 0; i < 10; i++) {
      StringBuilder letters = new StringBuilder();
      for (int page = 0; page < 4; page++) {
        letters.append(ALIKE[random.nextInt(ALIKE.length)].charAt(page));
      }
      String structure = i < 6 ? "shared" : "own" + i;
      models.add(register(FakeModels.ofPages(letters.toString(), "m" + i, structure)));
    }
  }
}
