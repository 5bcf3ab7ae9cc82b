import { PageHead } from "../../common/page/PageHead.tsx";
import { Stack } from "../../common/page/Panel.tsx";
import { Sections } from "../../common/page/Tabs.tsx";
import Changes from "./Changes.tsx";

/** Who did what with the organization's webhooks. */
export default function AllChanges() {
  return (
    <>
      <PageHead title="Changes">
        <p>Who changed webhooks, sent payloads by hand, or had deliveries sent again. Deleted webhooks stay in it.</p>
      </PageHead>
      <Stack>
        <Sections />
        <Changes id={null} />
      </Stack>
    </>
  );
}
