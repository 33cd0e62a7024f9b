#[derive(Default)] pub(crate) struct LaneCursor;
